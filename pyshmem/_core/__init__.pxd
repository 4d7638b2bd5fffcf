# Makes the package visible to cimport.
